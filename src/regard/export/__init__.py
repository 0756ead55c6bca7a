"""Models written for other programs: CTranslate2, ONNX, a hub; and the engine that translates with an export."""
