"""What the verbs of the `groupsim` command do, one file for each subject; cli.py has the verbs."""
