"""Who somebody is: users and the tokens of service accounts. `http.authentication` finds out who asks."""
