"""Plans: the loop nests, their order and the storage with which a program is computed."""
