"""The pool of threads that the loops share."""



def count_pieces(pieces: int, n_threads: int) -> int:
    """
    Do that many empty pieces of work on some threads and return how many were done.
    """
