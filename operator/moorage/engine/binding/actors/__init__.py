"""Actors: the half of a plugin that does something, after the decision: permit, preBind, bind,
postBind.

An actor is registered under its plugin's name (``intree``) and is made with
``contract.ActorTools``. Of the decision it sees the pod, the node and its own plugin's reservation.
Failures raise ``ports.errors.EdgeError``; everything reserved is then undone.
"""
