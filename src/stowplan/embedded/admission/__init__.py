"""What an object goes through before it may be stored, as upstream's admission plugins do it: start at `chain`.

`defaults` fills in what an object does not say, `validation` has the rules of each kind. What depends on other objects
is given or refused by the modules here, called after what they are about.
"""
