"""What filters and scores say of all nodes for one pod template, kept and brought up to date by
changed rows.
"""
