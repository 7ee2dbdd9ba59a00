"""Structure as data: graphs, their colourings and their decompositions."""
