"""The paths of the API, one file for each resource."""
