"""Names in noisy social text: the training of the labeller's weights, and the score of the whole extraction."""
