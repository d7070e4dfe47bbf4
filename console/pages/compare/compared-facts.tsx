import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { StartedRun } from "../../api/runs/all-runs.ts";
import type { Trace } from "../../api/runs/trace.ts";
import { runAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { RunState, Took } from "../../parts/run-state.tsx";
import { runStatuses } from "../../run/run-filter.ts";
import { count, money, shortMoment } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { PlaceLink } from "../place-link.tsx";

/** A run with its parts as far as they are known. */
export interface Side {
  run: StartedRun;
  trace: Trace;
  isOver: boolean;
}

/** What became of two runs, how long they took, and what they used. */
export function ComparedFacts({ left, right }: { left: Side; right: Side }) {
  const { t } = useTranslation(work);
  const title = t("compare.facts");
  return (
    <div className="usage-table" role="region" aria-label={title} tabIndex={0}>
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">{t("run.name")}</th>
            <th scope="col">{t("compare.left")}</th>
            <th scope="col">{t("compare.right")}</th>
            <th scope="col">{t("compare.more")}</th>
          </tr>
        </thead>
        <tbody>
          <Row name={t("compare.run")} left={<Named side={left} />} right={<Named side={right} />} />
          <Row name={t("run.state")} left={<Ended side={left} />} right={<Ended side={right} />} />
          <Row
            name={t("run.duration")}
            left={<Took from={left.run.created_at} to={left.isOver ? left.run.updated_at : null} />}
            right={<Took from={right.run.created_at} to={right.isOver ? right.run.updated_at : null} />}
          />
          {numbers.map((name) => {
            const [one, other] = [numbersOf(left)[name], numbersOf(right)[name]];
            return (
              <Row
                key={name}
                name={t(`run.${name}`)}
                left={written(one, name)}
                right={written(other, name)}
                more={one === null || other === null ? "" : signed(other - one, name)}
              />
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Row({ name, left, right, more = "" }: { name: string; left: ReactNode; right: ReactNode; more?: string }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{left}</td>
      <td>{right}</td>
      <td>{more}</td>
    </tr>
  );
}

function Named({ side: { run } }: { side: Side }) {
  return (
    <PlaceLink address={runAddress(run.thread_id, run.run_id)}>{shortMoment(Date.parse(run.created_at))}</PlaceLink>
  );
}

function Ended({ side: { run, trace } }: { side: Side }) {
  const error = trace.spans.get(run.run_id)?.error;
  return (
    <>
      <RunState status={runStatuses.find((one) => one === run.status) ?? "pending"} />
      {error && <small className="compare-error">{visible(`${error.error}: ${error.message}`)}</small>}
    </>
  );
}

const numbers = ["modelCalls", "toolCalls", "nodes", "tokensIn", "tokensOut", "cost"] as const;
type NumberName = (typeof numbers)[number];

function numbersOf({ run, trace: { spans } }: Side): Record<NumberName, number | null> {
  const { usage = null, cost = null } = spans.get(run.run_id) ?? {};
  const kinds = (kind: string): number => [...spans.values()].filter((span) => span.kind === kind).length;
  return {
    modelCalls: kinds("model"),
    toolCalls: kinds("tool"),
    nodes: kinds("node"),
    tokensIn: usage?.input_tokens ?? null,
    tokensOut: usage?.output_tokens ?? null,
    cost,
  };
}

function written(value: number | null, name: NumberName): string {
  if (value === null) return "–";
  return name === "cost" ? money(value) : count(value);
}

function signed(value: number, name: NumberName): string {
  return value === 0 ? "" : `${value > 0 ? "+" : "−"}${written(Math.abs(value), name)}`;
}
