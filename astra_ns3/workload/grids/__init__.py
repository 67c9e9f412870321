"""How the dimensions of a network are cut where groups of NPUs begin or end inside one."""
