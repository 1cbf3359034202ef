12ab
