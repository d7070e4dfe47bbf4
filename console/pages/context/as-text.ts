import type { Section, SentRequest, ThreadContext } from "../../api/context.ts";
import { jsonText } from "../../text/json-text.ts";

/** What is shown of a thread's context, as Markdown. `title` and `nameOf` are in the reader's language. */
export function contextMarkdown(context: ThreadContext, title: string, nameOf: (name: string) => string): string {
  const { last_call: last, usage, sections } = context;
  const about = [last?.model, last?.call, last?.asked_at, `${usage.tokens} / ${usage.limit}`].map((one) => `- ${one}`);
  const parts = (list: readonly Section[], level: string): string[] =>
    list
      .filter(({ token_count }) => token_count > 0)
      .flatMap(({ name, token_count, content, children }) => [
        `${level} ${nameOf(name)} (${token_count})`,
        ...(content === null ? [] : [fenced(content)]),
        ...parts(children, `${level}#`),
      ]);
  return `${[`# ${title}`, about.join("\n"), ...parts(sections, "##")].join("\n\n")}\n`;
}

/** A text between fences that are longer than any in it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/gu) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}

/** A request as a command for a shell, which takes the key from the variable `API_KEY`; nothing where it goes nowhere. */
export function curlOf({ request, endpoint }: SentRequest): string | undefined {
  if (endpoint === null) return undefined;
  const body = Object.fromEntries(
    Object.entries(request).map(([name, value]) => [name === "messages" ? endpoint.messages_field : name, value]),
  );
  const url = `'${endpoint.url.replaceAll("'", "%27")}'`;
  return [
    `curl ${url} \\`,
    `  -H 'Content-Type: application/json' -H "Authorization: Bearer $API_KEY" \\`,
    // From the standard input: an argument may have 128 KB only.
    "  --data-binary @- <<'END_OF_REQUEST'",
    jsonText(body),
    "END_OF_REQUEST",
  ].join("\n");
}
