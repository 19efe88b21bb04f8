"""What the watches bring: each object into cache and queue, what differs put right, what is odd set
aside.
"""
