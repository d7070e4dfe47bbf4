/** Arguments that cannot be read stand as text under this name in a message, whose calls must hold objects. */
export const brokenArguments = "__broken_arguments";
