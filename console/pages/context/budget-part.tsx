import { useTranslation } from "react-i18next";
import type { ThreadContext } from "../../api/context.ts";
import { useThreadDetails } from "../../api/threads.ts";
import { work } from "../../text/inspector/work.ts";
import { count, money, percent } from "../../text/time.ts";
import { Fact } from "./fact.tsx";

/** How the window is shared, what the model costs, and what the chat has used so far. */
export function BudgetPart({ threadId, context }: { threadId: string; context: ThreadContext }) {
  const { t } = useTranslation(work);
  const { total_usage: total } = useThreadDetails(threadId).data ?? {};
  const { budget, usage, output_limit, price } = context;
  const names: Record<string, string> = {
    output_reserve: t("context.reserve"),
    system: t("context.system"),
    user_input: t("context.question"),
    history: t("context.history"),
  };
  const cost = (amount: number) => `${money(amount)} ${price?.currency ?? ""}`.trim();
  return (
    <div className="schema-form">
      <dl className="run-facts">
        <Fact name={t("context.window")} value={t("context.tokens", tokensOf(usage.limit))} />
        <Fact name={t("context.longest")} value={t("context.tokens", tokensOf(output_limit))} />
        <Fact name={t("context.price")} value={price === null ? t("context.unknown") : t("context.priceOf", price)} />
        {price !== null && (
          <Fact name={t("context.thisRequest")} value={cost((usage.tokens / 1_000_000) * price.input)} />
        )}
        {total !== undefined && (
          <Fact
            name={t("context.wholeChat")}
            value={[
              t("context.inOut", { input: count(total.input_tokens), output: count(total.output_tokens) }),
              ...(total.cost === null ? [] : [cost(total.cost)]),
            ].join(" · ")}
          />
        )}
      </dl>
      <div className="usage-table" role="region" aria-label={t("context.budget")} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t("context.part")}</th>
              <th scope="col">{t("context.used")}</th>
              <th scope="col">{t("context.share")}</th>
              <th scope="col">{t("context.defaultShare")}</th>
            </tr>
          </thead>
          <tbody>
            {budget.allocations.map(({ category, tokens, percent: share, reference_percent, is_refused }) => (
              <tr key={category}>
                <th scope="row">{names[category] ?? category}</th>
                <td>
                  {count(tokens)}
                  {is_refused && <b> {t("context.noRoom")}</b>}
                </td>
                <td>{percent(share / 100)}</td>
                <td>{percent(reference_percent / 100)}</td>
              </tr>
            ))}
            <tr>
              <th scope="row">{t("context.free")}</th>
              <td>{count(budget.remaining)}</td>
              <td>{percent(budget.remaining / usage.limit)}</td>
              <td>–</td>
            </tr>
          </tbody>
        </table>
      </div>
    </div>
  );
}

function tokensOf(value: number): { count: number; tokens: string } {
  return { count: value, tokens: count(value) };
}
