"""What a spider is made of: the classes that users derive from, and the response they are given."""
