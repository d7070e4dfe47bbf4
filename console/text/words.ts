/** A catalogue with the names of another one: a text that is missing, or one too many, is an error of the types. */
export type Words<Tree> = { readonly [Key in keyof Tree]: Tree[Key] extends string ? string : Words<Tree[Key]> };
