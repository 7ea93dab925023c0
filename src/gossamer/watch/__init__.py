"""Jobs are watched while they run: their pace, what decides it, and troubles of which somebody is told."""
