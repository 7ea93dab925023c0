"""What is asked of jobs, pages and hosts, for every face alike."""
