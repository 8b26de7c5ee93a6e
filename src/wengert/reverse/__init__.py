"""The reverse pass: walk the recording back, set or add cotangents."""
