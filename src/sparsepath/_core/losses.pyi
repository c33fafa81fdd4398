"""What residuals cost, for the loops that judge models."""



class Squared:
    def __init__(self) -> None: ...

class Absolute:
    def __init__(self) -> None: ...

class Huber:
    def __init__(self, delta: float) -> None: ...

class LogCosh:
    def __init__(self, scale: float) -> None: ...

class ZeroOne:
    def __init__(self) -> None: ...
