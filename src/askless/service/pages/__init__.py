"""The pages that experts and team leads work in: NiceGUI on the service's own application, all assets local."""
