import {
  isCallExpression,
  isIdentifier,
  isPropertyAccessExpression,
  isStringLiteral,
} from "typescript/unstable/ast/is";
import type { CallExpression, Node } from "typescript/unstable/ast";
import {
  type Checker,
  type Program,
  SignatureKind,
  type Symbol as TypeSymbol,
  SymbolFlags,
  type Type,
  TypeFlags,
} from "typescript/unstable/sync";

/** The types of a graph's input, state, output and context. */
export interface GraphParts {
  state: Type | undefined;
  input: Type | undefined;
  output: Type | undefined;
  context: Type | undefined;
  /** The names of inputs and outputs, if nothing more is known. */
  inputNames: string[] | undefined;
  outputNames: string[] | undefined;
}

/** A graph used as a node of another; without a name if the source has no literal one. */
interface Subgraph {
  node: string | undefined;
  graph: Type;
}

/** Wrappers (promise, function, builder, agent) around a graph that are unwrapped at most. */
const maxWrappings = 6;

/** Finds graphs and their parts in the types of modules, for any version of LangGraph. */
export class GraphTypes {
  readonly #checker: Checker;
  readonly #program: Program;
  readonly #graphs = new Map<number, Type | undefined>();

  constructor(program: Program, checker: Checker) {
    this.#program = program;
    this.#checker = checker;
  }

  /** The graph exported under a name: itself, a builder, an agent, a promise or a function. */
  exported(path: string, name: string): Type | undefined {
    const file = this.#program.getSourceFile(path);
    const module = file && this.#checker.getSymbolAtLocation(file);
    if (module === undefined) return undefined;
    const found = this.#checker.getExportsOfModule(module).find((symbol) => symbol.name === name);
    const type = found && this.#checker.getTypeOfSymbol(this.#origin(found));
    return type && this.graphOf(type);
  }

  #origin(symbol: TypeSymbol): TypeSymbol {
    return symbol.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  /** The compiled graph within a type. */
  graphOf(type: Type, wrappings = 0): Type | undefined {
    if (wrappings > maxWrappings) return undefined;
    const open = (inner: Type | undefined): Type | undefined => inner && this.graphOf(inner, wrappings + 1);
    if (type.isUnionType()) return first(type.getTypes(), open);
    if (!(type.flags & (TypeFlags.Object | TypeFlags.Intersection))) return undefined;
    // An agent looks like a graph, too; the one it runs is its `graph`.
    const inner = this.#property(type, "graph");
    if (inner !== undefined && this.#isGraph(inner)) return inner;
    if (this.#isGraph(type)) return type;
    const compile = this.#property(type, "compile");
    if (compile !== undefined) return open(this.#answerOf(compile));
    return open(this.#promised(type) ?? this.#answerOf(type));
  }

  #isGraph(type: Type): boolean {
    return ["lg_is_pregel", "~RunOutput", "RunOutput"].some((name) => this.#property(type, name) !== undefined);
  }

  #answerOf(type: Type): Type | undefined {
    const signature = this.#checker.getSignaturesOfType(type, SignatureKind.Call)[0];
    return signature && this.#checker.getReturnTypeOfSignature(signature);
  }

  /** The parts in a graph's own type; before LangGraph 1.0 they have other names, and before 0.4 some are missing. */
  parts(graph: Type): GraphParts {
    const builder = this.#property(graph, "builder");
    const names = (field: string): string[] | undefined => {
      const definition = builder && this.#property(builder, field);
      const properties = definition === undefined ? [] : this.#checker.getPropertiesOfType(definition);
      return properties.length === 0 ? undefined : properties.map(({ name }) => name);
    };
    return {
      state: this.#typeOf(graph, "~RunOutput") ?? this.#typeOf(graph, "RunInput"),
      input: this.#typeOf(graph, "~InputType"),
      output: this.#typeOf(graph, "~OutputType"),
      context: this.#context(graph),
      inputNames: names("_inputDefinition"),
      outputNames: names("_outputDefinition"),
    };
  }

  /** What `invoke` takes besides the input. */
  #context(graph: Type): Type | undefined {
    const invoke = this.#property(graph, "invoke");
    const signature = invoke && this.#checker.getSignaturesOfType(invoke, SignatureKind.Call).at(-1);
    const options = signature && this.#checker.getParameterType(signature, 1);
    if (options === undefined) return undefined;
    const given = this.#checker.getNonNullableType(options) ?? options;
    return ["context", "configurable"]
      .map((name) => this.#typeOf(given, name))
      .find((type) => type !== undefined && this.#checker.getPropertiesOfType(type).length > 0);
  }

  /** The type of a property, without `undefined`; `undefined` if it says nothing. */
  #typeOf(type: Type, name: string): Type | undefined {
    const found = this.#property(type, name);
    // An asynchronous workflow of the functional API returns a promise.
    const answer = found && (this.#promised(found) ?? found);
    const resolved = answer && (this.#checker.getNonNullableType(answer) ?? answer);
    return resolved === undefined || resolved.flags & TypeFlags.AnyOrUnknown ? undefined : resolved;
  }

  #promised(type: Type): Type | undefined {
    const isPromise = type.isTypeReference() && type.getSymbol()?.name === "Promise";
    return isPromise ? this.#checker.getTypeArguments(type)[0] : undefined;
  }

  #property(type: Type, name: string): Type | undefined {
    const symbol = this.#checker.getPropertyOfType(type, name);
    return symbol && this.#checker.getTypeOfSymbol(symbol);
  }

  /** The user's own modules. */
  files(): string[] {
    return this.#program.getSourceFileNames().filter((name) => !/\/node_modules\/|^bundled:/u.test(name));
  }

  /** The graphs that the user's modules pass to `addNode`, including in its options or within a node's function. */
  subgraphs(): Subgraph[] {
    return this.files().flatMap((name) => {
      const file = this.#program.getSourceFile(name);
      if (file === undefined || !file.text.includes("addNode")) return [];
      return within(file, isAddNode).flatMap((call) => this.#subgraphsOf(call));
    });
  }

  /** Most names in a call are not graphs, and they repeat. */
  #knownGraphOf(type: Type): Type | undefined {
    if (!this.#graphs.has(type.id))
      this.#graphs.set(
        type.id,
        unlessPanic(() => this.graphOf(type)),
      );
    return this.#graphs.get(type.id);
  }

  #subgraphsOf(call: CallExpression): Subgraph[] {
    const [name] = call.arguments;
    const node = name !== undefined && isStringLiteral(name) ? name.text : undefined;
    const places = call.arguments.flatMap((argument) => within(argument, isGraphPlace));
    const graphs = new Map<number, Type>();
    for (const place of places) {
      const type = unlessPanic(() => this.#checker.getTypeAtLocation(place));
      const graph = type && this.#knownGraphOf(type);
      if (graph !== undefined) graphs.set(graph.id, graph);
    }
    return [...graphs.values()].map((graph) => ({ node, graph }));
  }
}

function isAddNode(node: Node): node is CallExpression {
  return (
    isCallExpression(node) && isPropertyAccessExpression(node.expression) && node.expression.name.text === "addNode"
  );
}

function isGraphPlace(node: Node): node is Node {
  return isIdentifier(node) || isCallExpression(node);
}

/** The nodes of a kind in a piece of source, and in each other. */
function within<Kind extends Node>(node: Node, isKind: (node: Node) => node is Kind): Kind[] {
  const found: Kind[] = isKind(node) ? [node] : [];
  node.forEachChild((child) => {
    found.push(...within(child, isKind));
  });
  return found;
}

function first<Item, Result>(items: readonly Item[], find: (item: Item) => Result | undefined): Result | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Runs a compiler query; `undefined` if its interface panics on a type, such as an empty array's in version 7.0.2. The
 * compiler reports it and goes on, and so do we.
 */
export function unlessPanic<Result>(ask: () => Result): Result | undefined {
  try {
    return ask();
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("panic:")) return undefined;
    throw error;
  }
}
