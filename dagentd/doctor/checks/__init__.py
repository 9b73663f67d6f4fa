"""What the doctor looks at, by where it is: each check looks, and a pure function judges what it saw."""
