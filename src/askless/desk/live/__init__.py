"""A desk that many callers and experts use at once: the service's."""
