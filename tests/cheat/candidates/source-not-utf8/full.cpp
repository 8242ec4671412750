// Bytes that no UTF-8 text has, where the compiler repeats them.
int ÿþ€ = 1;
#error Ã( ÿþ
