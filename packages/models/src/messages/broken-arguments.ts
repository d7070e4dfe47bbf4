/** Key for unparsable arguments, kept as text, since calls in messages must have objects. */
export const brokenArguments = "__broken_arguments";
