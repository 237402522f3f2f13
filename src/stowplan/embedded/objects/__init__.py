"""What every part of the API server needs to speak of objects: resources, errors, names, fields that may be missing."""
