"""The configuration: YAML files and overrides, typed settings, what they name in packages of the user."""
