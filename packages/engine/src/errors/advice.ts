import type { Language } from "../language.ts";
import type { AppError } from "./errors.ts";

/** What a reader can do about a failure, in each language. */
export type Advice = Readonly<Record<Language, string>>;

const given = new WeakMap<AppError, Advice>();

/** Remembers what is advised about an error, if anything is; its own suggestion is English. */
export function withAdvice(error: AppError, advice: Advice | undefined): AppError {
  if (advice !== undefined) given.set(error, advice);
  return error;
}

/** What is advised about an error; `undefined` where nobody knows more than its code says. */
export function adviceOf(error: AppError): Advice | undefined {
  return given.get(error);
}
