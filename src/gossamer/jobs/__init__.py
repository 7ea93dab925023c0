"""Operations on jobs: submit, pause, cancel, steer and merge them, and run schedules."""
