import { AppError } from "../errors.ts";

/** A piece of a declaration: a mark, a text, or a word. */
type Token = string;

const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[A-Za-z_$][\w$]*|[{}[\]():;,|?]/gu;

/**
 * The JSON Schemas in the declaration of a `typeProbe`. Its grammar is small: object types, tuples, literals and unions of
 * them. A union of constants becomes an `enum`, any other an `anyOf`. Throws `invalid_format` for another text.
 */
export function readTypeLiteral(declaration: string): unknown {
  const start = declaration.indexOf("schemas:");
  const found = start < 0 ? [] : (withoutComments(declaration.slice(start + "schemas:".length)).match(tokens) ?? []);
  return new Reader(found).union();
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//gu, "").replaceAll(/^\s*\/\/.*$/gmu, "");
}

/** Reads a type from left to right. */
class Reader {
  readonly #tokens: Token[];
  #at = 0;

  constructor(found: Token[]) {
    this.#tokens = found;
  }

  union(): unknown {
    this.#take("|");
    const members = [this.#one()];
    while (this.#take("|")) members.push(this.#one());
    return members.length === 1 ? members[0] : joined(members);
  }

  #one(): unknown {
    const token = this.#next();
    if (token === "{") return this.#object();
    if (token === "(") return this.#grouped();
    if (token === "null") return null;
    if (token === "true" || token === "false") return token === "true";
    if (token === "never") return nothing;
    if (/^["\d-]/u.test(token)) return JSON.parse(token) as unknown;
    throw unreadable(token);
  }

  #grouped(): unknown {
    const inside = this.union();
    if (this.#next() !== ")") throw unreadable("a group without an end");
    return inside;
  }

  #object(): unknown {
    const found: Record<string, unknown> = {};
    for (let token = this.#next(); token !== "}"; token = this.#next()) {
      if (token === ";" || token === ",") continue;
      const name = token.startsWith('"') ? String(JSON.parse(token)) : token;
      this.#take("?");
      if (this.#next() !== ":") throw unreadable(name);
      // A name such as __proto__ is a name like any other.
      Object.defineProperty(found, name, { value: this.union(), enumerable: true, configurable: true, writable: true });
    }
    return schemaOf(found);
  }

  #take(token: Token): boolean {
    const isThere = this.#tokens[this.#at] === token;
    if (isThere) this.#at += 1;
    return isThere;
  }

  #next(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw unreadable("the end");
    this.#at += 1;
    return token;
  }
}

/** Nothing at all: the names of what is required where nothing is. */
const nothing = Symbol("never");

function schemaOf(found: Record<string, unknown>): Record<string, unknown> {
  if (found["type"] !== "object" || !("required" in found)) return found;
  const { required, ...rest } = found;
  if (required === nothing) return rest;
  return { ...rest, required: isUnion(required) ? required.members : [required] };
}

/** A union inside of what is being read; it has become a schema when the reader is done with what holds it. */
interface Union {
  members: unknown[];
  enum?: unknown[];
  anyOf?: unknown[];
}

function isUnion(value: unknown): value is Union {
  return typeof value === "object" && value !== null && "members" in value;
}

function joined(members: unknown[]): unknown {
  if (members.every((member) => typeof member !== "object" || member === null)) return { members };
  const constants = members.flatMap((member) => (isConstant(member) ? [member.const] : []));
  const others = members.filter((member) => !isConstant(member));
  if (constants.length === 2 && constants.includes(true) && constants.includes(false)) {
    return others.length === 0 ? { type: "boolean" } : { anyOf: [...others, { type: "boolean" }] };
  }
  if (others.length === 0) return { enum: constants };
  const enumeration = constants.length === 0 ? [] : [{ enum: constants }];
  return { anyOf: [...others, ...enumeration] };
}

function isConstant(value: unknown): value is { const: unknown } {
  return typeof value === "object" && value !== null && "const" in value && Object.keys(value).length === 1;
}

function unreadable(what: string): AppError {
  return new AppError("invalid_format", `The types of the graph could not be read at ${what}.`);
}
