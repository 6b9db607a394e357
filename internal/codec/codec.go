package codec
