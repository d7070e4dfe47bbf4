import { useTranslation } from "react-i18next";
import type { ThreadContext } from "../../api/context.ts";
import { work } from "../../text/inspector/work.ts";
import { Button } from "../../parts/button.tsx";
import { count, percent } from "../../text/time.ts";
import { useSectionName } from "./section-name.ts";

/** The colours of the sections are those of the parts of a run. */
const colours: Record<string, string> = {
  system_prompt: "node",
  documentation: "tool",
  implicit_context: "tool",
  tools: "model",
  message_history: "agent",
  output_reserve: "run",
};

const bar = { display: "flex", height: 14, marginBottom: 10, borderRadius: 7, overflow: "hidden" };

/** The window of the model as a bar: what each section takes, what is kept for the answer, and what is free. */
export function WindowBar({
  context: { sections, budget, usage },
  onOpen,
}: {
  context: ThreadContext;
  onOpen: (section: string) => void;
}) {
  const { t } = useTranslation(work);
  const nameOf = useSectionName();
  const reserve = budget.allocations.find(({ category }) => category === "output_reserve")?.tokens ?? 0;
  const parts = [
    ...sections.map(({ name, token_count }) => ({ part: name, name: nameOf(name), tokens: token_count })),
    { part: "output_reserve", name: t("context.reserve"), tokens: reserve },
    { part: "free", name: t("context.free"), tokens: budget.remaining },
  ].filter(({ tokens }) => tokens > 0);
  return (
    <figure>
      <div className="window-bar" aria-hidden="true" style={bar}>
        {parts.map(({ part, name, tokens }) => (
          <span
            key={part}
            className="span-mark"
            data-kind={colours[part] ?? part}
            title={name}
            style={{ width: `${(tokens / usage.limit) * 100}%`, height: "100%", borderRadius: 0 }}
          />
        ))}
      </div>
      <figcaption>
        <ul className="run-facts" aria-label={t("context.window")}>
          {parts.map(({ part, name, tokens }) => (
            <li key={part} className="time-check">
              <i className="span-mark" data-kind={colours[part] ?? part} />
              {sections.some((section) => section.name === part) ? (
                <Button size="small" onClick={() => onOpen(part)}>
                  {name}
                </Button>
              ) : (
                name
              )}
              <small className="hint">
                {count(tokens)}
                {tokens / usage.limit >= 0.005 && ` · ${percent(tokens / usage.limit)}`}
              </small>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}
