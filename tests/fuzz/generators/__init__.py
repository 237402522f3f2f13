"""What is sent: each module makes attacks of one family from a seeded `Random`; `families` is the list of all."""
