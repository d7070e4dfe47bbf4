/**
 * A TypeScript module whose only value has, as its type, the JSON Schemas of a graph. Its declaration, which any compiler
 * writes, is a text of literals that `readTypeLiteral` reads: so no compiler's API is needed, and of it no version.
 */
export function typeProbe(path: string, name: string): string {
  return `import type * as module from ${JSON.stringify(path)};
export const schemas = (() => {
  type Any<T> = 0 extends 1 & T ? true : false;
  type Made<T> = T extends (...args: never[]) => infer R ? Awaited<R> : Awaited<T>;
  type Agent<T> = T extends { graph: infer G extends { lg_is_pregel: boolean } } ? G : T;
  type Compiled<T> = T extends { compile: (...args: never[]) => infer C } ? C : Agent<T>;
  type Of<T, K extends string> = T extends { [key in K]: infer V } ? V : unknown;
  type Given<T> = T extends { invoke: (input: never, options?: infer O) => unknown }
    ? NonNullable<O> extends { context?: infer C } ? NonNullable<C> : unknown
    : unknown;
  type Message = { content: unknown; lc_namespace: string[]; additional_kwargs: object };
  type Plain<T> = Exclude<T, undefined | { __overwrite__: unknown } | { lg_name: string }>;
  type Must<T> = { [K in keyof T]-?: {} extends Pick<T, K> ? never : undefined extends T[K] ? never : K }[keyof T];
  type Fields<T, D extends 0[]> = { [K in keyof T as K extends string ? K : never]-?: Schema<T[K], D> };
  type Shape<T, D extends 0[]> = string extends keyof T
    ? { type: "object"; additionalProperties: Schema<T[keyof T], D> }
    : { type: "object"; properties: Fields<T, D>; required: Extract<Must<T>, string> };
  type Each<T, D extends 0[]> = T extends string
    ? string extends T ? { type: "string" } : { const: T }
    : T extends number
      ? number extends T ? { type: "number" } : { const: T }
      : T extends boolean ? { const: T }
      : T extends null ? { type: "null" }
      : T extends bigint | symbol | ((...args: never[]) => unknown) ? {}
      : T extends Date ? { type: "string"; format: "date-time" }
      : T extends Message ? { type: "object"; langgraph_type: "message" }
      : T extends readonly (infer I)[]
        ? [I] extends [Message] ? { type: "array"; items: { type: "object" }; langgraph_type: "messages" }
          : { type: "array"; items: Schema<I, D> }
      : T extends Map<unknown, unknown> | Set<unknown> | Uint8Array | Promise<unknown> ? {}
      : T extends object ? Shape<T, D> : {};
  type Schema<T, D extends 0[] = []> = Any<T> extends true ? {}
    : D extends [0, 0, 0, 0, 0, 0] ? {}
    : unknown extends T ? {}
    : [Plain<T>] extends [never] ? {}
    : Messages<Plain<T>> extends true ? { type: "array"; items: { type: "object" }; langgraph_type: "messages" }
    : Each<Plain<T>, [...D, 0]>;
  type Messages<T> = [Extract<T, readonly Message[]>] extends [never] ? false : true;
  type Graph = Compiled<Made<(typeof module)[${JSON.stringify(name)}]>>;
  return null as unknown as {
    state: Schema<Of<Graph, "~RunOutput">>;
    input: Schema<Of<Graph, "~InputType">>;
    output: Schema<Of<Graph, "~OutputType">>;
    context: Schema<Given<Graph>>;
  };
})();
`;
}
