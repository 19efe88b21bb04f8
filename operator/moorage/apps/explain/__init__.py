"""`moorage explain`: why a pod is pending, or where it is, and what would change that.

An explanation is a document first (``explanation_documents``), whoever made it: this process from a
world, or the operator. What people read is made from the document (``explanation_texts``).
"""
