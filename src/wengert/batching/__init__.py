"""vmap: run a function on a batch of examples at once, by recording it on the first and playing that on all."""
