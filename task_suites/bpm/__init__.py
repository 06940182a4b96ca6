"""Business processes: procedures, recordings of workflows, and the companies in which they are carried out."""
