import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Config } from "../config.ts";

/** What a run may choose about a model beside its name. */
export interface ModelOptions {
  temperature?: number;
  /** What goes over the network instead of the real `fetch`: to see what a client would send. */
  fetch?: typeof fetch;
}

/** One maker of models. Adding one is a file with this shape and a line in `index.ts`. */
export interface Provider {
  /** Makes the client; no network. Throws `auth` naming the variable when a key is missing. */
  create(name: string, options: ModelOptions, config: Config): BaseChatModel;
  /** Where its models are reached, for error messages; `undefined` when nothing is reached. */
  address(config: Config): string | undefined;
  /** Added to a network or time-out failure: what the reader can check (LLM-16). */
  unreachableHint: string;
  /** Added when the provider does not know the model. */
  unknownModelHint(name: string): string;
  /** Added when the provider refuses the key: what to set (ERR-05). */
  keyHint?: string;
}

/** Which model a client is, for events and error messages. */
export interface ModelTarget {
  /** `provider:name`. */
  name: string;
  address: string | undefined;
  unreachableHint: string;
  unknownModelHint: string;
  keyHint?: string | undefined;
}
