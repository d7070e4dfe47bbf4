import { useQuery, useQueryClient } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request, type RequestOptions } from "../client.ts";

const Title = z.object({ en: z.string(), zh: z.string() });
const Problem = z.object({
  kind: z.string(),
  severity: z.enum(["error", "warning"]),
  message: z.string(),
  variable: z.optional(z.string()),
});
/** What is wrong with the text of a prompt, or looks wrong. */
export type PromptProblem = z.infer<typeof Problem>;

const Listed = z.object({ name: z.string(), title: Title, source: z.string(), nodes: z.array(z.string()) });

const Profile = z.object({ profile: z.string(), title: Title, description: z.string(), source: z.string() });

const text = {
  description: z.string(),
  content: z.string(),
  default_content: z.string(),
  source: z.string(),
  variables: z.array(z.string()),
  required_variables: z.array(z.string()),
  problems: z.array(Problem),
  /** Its version, which a change may name. */
  etag: z.string(),
};
const Prompt = z.object({ ...text, title: Title, editable: z.boolean(), format: z.nullable(z.string()) });
const Identity = z.object({ ...text, name: z.string() });

/** Which text: a template, or the identity of a profile. */
export interface PromptPlace {
  kind: "prompt" | "identity";
  name: string;
}

/** A text of the assistant's that can be replaced. */
export interface PromptText extends Omit<z.infer<typeof Prompt>, "title"> {
  title: { readonly en: string; readonly zh: string };
}

const Verdict = z.object({
  valid: z.boolean(),
  problems: z.array(Problem),
  text: z.string(),
  values: z.nullable(z.record(z.string(), z.unknown())),
});
/** Whether a text can be used, and what it looks like when it is filled. */
export type PromptVerdict = z.infer<typeof Verdict>;

const pathOf = ({ kind, name }: PromptPlace, end = ""): string =>
  kind === "prompt"
    ? `/prompts/${encodeURIComponent(name)}${end}`
    : `/identity${end}?profile=${encodeURIComponent(name)}`;

/** All templates. */
export function usePrompts() {
  return useQuery({
    queryKey: ["prompts"],
    queryFn: ({ signal }) => request("/prompts", z.array(Listed), { signal }),
  });
}

/** All profiles. */
export function useIdentities() {
  return useQuery({
    queryKey: ["identities"],
    queryFn: ({ signal }) => request("/identity/profiles", z.array(Profile), { signal }),
  });
}

/** Reads or changes one text; gives it as it is then. */
async function requestText(place: PromptPlace, options: RequestOptions): Promise<PromptText> {
  if (place.kind === "prompt") return request(pathOf(place), Prompt, options);
  const { name, ...identity } = await request(pathOf(place), Identity, options);
  return { ...identity, title: { en: name, zh: name }, editable: true, format: null };
}

/** One text as it is now, and as it is built in. */
export function usePrompt(place: PromptPlace) {
  return useQuery({ queryKey: ["prompt", place], queryFn: ({ signal }) => requestText(place, { signal }) });
}

/** What the server says of a text, filled with the values of a thread where one is named. */
export function useVerdict(place: PromptPlace, content: string, threadId: string | undefined) {
  return useQuery({
    queryKey: ["prompt-verdict", place, content, threadId],
    queryFn: ({ signal }) =>
      request(pathOf(place, "/validate"), Verdict, {
        method: "POST",
        body: { content, ...(threadId !== undefined && { thread_id: threadId }) },
        signal,
      }),
    placeholderData: (before) => before,
    staleTime: 0,
  });
}

/** The tokens of a text. */
export function useTokens(words: string) {
  return useQuery({
    queryKey: ["tokens", words],
    queryFn: ({ signal }) =>
      request("/tokens/count", z.object({ tokens: z.number() }), { method: "POST", body: { text: words }, signal }),
    placeholderData: (before) => before,
    staleTime: Infinity,
  });
}

/**
 * Replaces texts, and goes back to those that are built in; what is shown of them is read again. Both name the version that they
 * replace: where another is there, they throw `ApiError` 412 and change nothing. They give the new version.
 */
export function usePromptChanges(place: PromptPlace) {
  const client = useQueryClient();
  const readAgain = async (): Promise<void> => {
    const keys = [["prompt", place], [place.kind === "prompt" ? "prompts" : "identities"], ["prompt-verdict", place]];
    await Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
  };
  const change = async (etag: string, options: RequestOptions): Promise<string> => {
    try {
      return (await requestText(place, { ...options, headers: { "If-Match": etag } })).etag;
    } finally {
      await readAgain();
    }
  };
  return {
    save: (content: string, etag: string) => change(etag, { method: "PUT", body: { content } }),
    reset: (etag: string) => change(etag, { method: "DELETE" }),
  };
}
