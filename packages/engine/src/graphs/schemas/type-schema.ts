import {
  SignatureKind,
  SymbolFlags,
  TypeFlags,
  type Checker,
  type Symbol as TypeSymbol,
  type TupleType,
  type Type,
} from "typescript/unstable/sync";
import { dialect, message, messageList } from "./message-schema.ts";
import { unlessPanic } from "./graph-types.ts";

type Schema = Record<string, unknown>;

/** Maximum depth of a described type; anything deeper is "anything". */
const deepest = 8;
/** Maximum number of objects in one schema, so that a state with a library's own objects stays readable. */
const maxObjects = 400;

/** JavaScript objects that JSON cannot hold, or only in another form. */
const opaque = /(?:^bundled:|\/lib\.[\w.]+\.d\.ts$|\/@types\/node\/)/u;
/**
 * Package classes are described if they hold a few values, such as a `Document`, but not if they are parts of a
 * program.
 */
const packaged = /\/node_modules\//u;
const maxFields = 12;

/** The JSON Schemas of types, by what the compiler knows of them. */
export class TypeReader {
  readonly #checker: Checker;
  /** The ids of the types we are inside of. */
  #inside = new Set<number>();
  /** The names of recursive types. */
  #names = new Map<number, string>();
  #definitions: Record<string, Schema> = {};
  #objects = 0;

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  /**
   * The schema of a type that holds a graph's values, `undefined` for one that says nothing. No field is required: a
   * channel may be empty, and an input may omit what it does not change.
   */
  values(type: Type | undefined): Schema | undefined {
    if (type === undefined) return undefined;
    this.#names = new Map();
    this.#definitions = {};
    this.#objects = 0;
    // Channel values are meant, not a channel itself, which could be mistaken for a context without a schema.
    if (this.#has(type, "lg_is_channel")) return undefined;
    const { required: _required, ...schema } = this.#schema(type);
    if (Object.keys(schema).length === 0) return undefined;
    const definitions = Object.keys(this.#definitions).length === 0 ? {} : { definitions: this.#definitions };
    return { ...schema, ...definitions, $schema: dialect };
  }

  #schema(type: Type): Schema {
    const { flags } = type;
    if (flags & TypeFlags.Null) return { type: "null" };
    if (type.isStringLiteralType() || type.isNumberLiteralType() || type.isBooleanLiteralType()) {
      return { type: typeof type.value, const: type.value };
    }
    if (flags & TypeFlags.StringLike) return { type: "string" };
    if (flags & TypeFlags.NumberLike) return { type: "number" };
    if (flags & TypeFlags.BooleanLike) return { type: "boolean" };
    if (type.isUnionType()) return this.#union(type.getTypes());
    if (flags & (TypeFlags.Object | TypeFlags.Intersection)) return this.#structure(type);
    const constraint = flags & TypeFlags.Instantiable ? this.#checker.getBaseConstraintOfType(type) : undefined;
    return constraint === undefined || constraint.id === type.id ? {} : this.#schema(constraint);
  }

  #union(types: readonly Type[]): Schema {
    const members = types.filter((type) => !(type.flags & TypeFlags.VoidLike) && !this.#isInstruction(type));
    if (members.some((type) => this.#isMessages(type))) return messageList;
    const found = members.map((type) => this.#schema(type));
    if (found.some((schema) => Object.keys(schema).length === 0)) return {};
    const constants = found.filter((schema) => "const" in schema);
    const others = new Map(
      found.flatMap((schema) => ("const" in schema ? [] : [[JSON.stringify(schema), schema] as const])),
    );
    const all = [...others.values(), ...enumerations(constants)];
    return all.length === 1 ? (all[0] ?? {}) : all.length === 0 ? {} : { anyOf: all };
  }

  #structure(type: Type): Schema {
    const symbol = type.getSymbol();
    const name = type.getAliasSymbol()?.name ?? symbol?.name;
    if (this.#checker.isArrayLikeType(type)) return this.#list(type);
    if (this.#isMessage(type)) return { ...message, langgraph_type: "message" };
    const places = symbol?.declarations.map(({ path }) => path) ?? [];
    if (places.some((path) => opaque.test(path)) && name !== "Record") {
      if (symbol?.name === "Date") return { type: "string", format: "date-time" };
      if (symbol?.name !== "Object" && !isAnonymous(symbol)) return {};
    }
    const isPackaged =
      symbol !== undefined && symbol.flags & SymbolFlags.Class && places.some((path) => packaged.test(path));
    if (isPackaged && this.#checker.getPropertiesOfType(type).length > maxFields) return {};
    if (this.#checker.getSignaturesOfType(type, SignatureKind.Call).length > 0) return {};
    return this.#named(type, name);
  }

  /** A recursive type is described once, by its name. */
  #named(type: Type, name: string | undefined): Schema {
    const known = this.#names.get(type.id);
    if (known !== undefined || this.#inside.has(type.id)) {
      const definitionName = known ?? this.#freeName(name);
      this.#names.set(type.id, definitionName);
      return { $ref: `#/definitions/${definitionName}` };
    }
    this.#objects += 1;
    if (this.#inside.size >= deepest || this.#objects > maxObjects) return {};
    this.#inside.add(type.id);
    let schema: Schema;
    try {
      schema = this.#object(type);
    } finally {
      this.#inside.delete(type.id);
    }
    const recurring = this.#names.get(type.id);
    if (recurring === undefined) return schema;
    this.#definitions[recurring] = schema;
    // The outermost object stays inline: clients look for its properties there.
    return this.#inside.size === 0 ? schema : { $ref: `#/definitions/${recurring}` };
  }

  #freeName(name: string | undefined): string {
    const wanted = name === undefined || name.startsWith("__") ? "Object" : name;
    const taken = new Set(this.#names.values());
    let free = wanted;
    for (let next = 2; taken.has(free); next += 1) free = `${wanted}${next}`;
    return free;
  }

  #object(type: Type): Schema {
    const properties: Schema = {};
    const required: string[] = [];
    for (const symbol of this.#checker.getPropertiesOfType(type)) {
      // JSON has no symbol names (iterators) or methods; interrupts are described elsewhere.
      const isOther = /^(?:\u00fe|__@|__interrupt__$)/u.test(symbol.name);
      if (isOther || symbol.flags & SymbolFlags.Method) continue;
      const value = unlessPanic(() => this.#checker.getTypeOfSymbol(symbol));
      const description = symbol.getDocumentationComment(this.#checker).trim();
      const schema = (value && unlessPanic(() => this.#schema(value))) ?? {};
      // A name such as __proto__ is an ordinary key here.
      Object.defineProperty(properties, symbol.name, {
        value: description === "" ? schema : { ...schema, description },
        enumerable: true,
        configurable: true,
        writable: true,
      });
      const mayBeMissing =
        value === undefined || Boolean(symbol.flags & SymbolFlags.Optional) || this.#mayBeMissing(value);
      if (!mayBeMissing) required.push(symbol.name);
    }
    const index = this.#checker
      .getIndexInfosOfType(type)
      .find(({ keyType }) => keyType.flags & (TypeFlags.String | TypeFlags.Number));
    const isNamed = Object.keys(properties).length > 0;
    return {
      type: "object",
      // An index signature beside names, which LangGraph adds to every context, says nothing about the names.
      ...(isNamed || index === undefined ? { properties } : { additionalProperties: this.#schema(index.valueType) }),
      ...(required.length === 0 ? {} : { required }),
    };
  }

  #list(type: Type): Schema {
    const elements = type.isTypeReference() ? this.#checker.getTypeArguments(type) : [];
    const target = type.isTypeReference() ? type.getTarget() : undefined;
    if (target?.isTupleType() === true && target.elementFlags.every((flag) => flag === 1))
      return this.#tuple(elements, target);
    if (this.#isMessages(type)) return messageList;
    const [element] = elements.length === 1 ? elements : [];
    return { type: "array", items: element === undefined ? {} : this.#schema(element) };
  }

  #tuple(elements: readonly Type[], target: TupleType): Schema {
    const { fixedLength } = target;
    const items = elements.slice(0, fixedLength).map((element) => this.#schema(element));
    return { type: "array", items, minItems: fixedLength, maxItems: fixedLength };
  }

  #mayBeMissing(type: Type): boolean {
    if (type.isUnionType()) return type.getTypes().some((member) => this.#mayBeMissing(member));
    return Boolean(type.flags & (TypeFlags.VoidLike | TypeFlags.AnyOrUnknown));
  }

  /** What LangGraph accepts in place of a value, such as a `Command` or an overwrite; no person fills it in. */
  #isInstruction(type: Type): boolean {
    return ["__overwrite__", "lg_name"].some((name) => this.#has(type, name));
  }

  #isMessages(type: Type): boolean {
    if (!(type.flags & TypeFlags.Object) || !type.isTypeReference() || !this.#checker.isArrayType(type)) return false;
    const [element] = this.#checker.getTypeArguments(type);
    return element !== undefined && membersOf(element).some((member) => this.#isMessage(member));
  }

  /** By its fields: a message may come from any copy of LangChain's core, or be a user's class. */
  #isMessage(type: Type): boolean {
    return ["lc_namespace", "additional_kwargs", "content"].every((name) => this.#has(type, name));
  }

  #has(type: Type, name: string): boolean {
    const isObject = type.flags & (TypeFlags.Object | TypeFlags.Intersection);
    return Boolean(isObject) && this.#checker.getPropertyOfType(type, name) !== undefined;
  }
}

function membersOf(type: Type): readonly Type[] {
  return type.isUnionType() ? type.getTypes() : [type];
}

function isAnonymous(symbol: TypeSymbol | undefined): boolean {
  return symbol === undefined || symbol.name.startsWith("__");
}

/** Constants of one kind as one `enum`, sorted by value: the compiler keeps no order. */
function enumerations(constants: Schema[]): Schema[] {
  const kinds = Map.groupBy(constants, (schema) => schema["type"]);
  return [...kinds].map(([type, schemas]) => {
    const values = schemas.map((schema) => schema["const"]);
    if (type === "boolean" && values.length === 2) return { type };
    return values.length === 1 ? (schemas[0] ?? {}) : { type, enum: values.toSorted(byValue) };
  });
}

function byValue(left: unknown, right: unknown): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  return String(left) < String(right) ? -1 : 1;
}
