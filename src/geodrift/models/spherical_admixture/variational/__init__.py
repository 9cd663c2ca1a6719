"""Mean-field variational inference."""
