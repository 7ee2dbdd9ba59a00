"""One object for what a posterior says of a network: tables, predictions, pictures, a page to hand on."""
