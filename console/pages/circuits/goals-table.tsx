import Check from "icon:check";
import Minus from "icon:minus";
import X from "icon:x";
import { useTranslation } from "react-i18next";
import type { Goal, Iteration } from "../../api/shaping/circuit-shapes.ts";
import { visible } from "../../markdown/links.ts";
import { manage } from "../../text/manage/words.ts";
import { quantity, targetOf } from "./figures.ts";

const marks = { reached: Check, missed: X, unknown: Minus };

/** The goals of a circuit, and how far a simulation has reached each; `all`: the simulations so far, newest first. */
export function GoalsTable({
  goals,
  problem,
  all,
}: {
  goals: readonly Goal[];
  problem: string | null;
  all: readonly Iteration[];
}) {
  const { t } = useTranslation(manage);
  return (
    <section className="prompt-part" aria-label={t("circuits.goals")}>
      <h2>{t("circuits.goals")}</h2>
      {problem !== null && <p className="problem">{t("circuits.goalsProblem", { problem: visible(problem) })}</p>}
      {goals.length === 0 && problem === null && (
        <p className="hint">
          {t("circuits.noGoals")}. {t("circuits.noGoalsHint")}
        </p>
      )}
      {goals.length > 0 && (
        <div className="figures-table" role="group" tabIndex={0} aria-label={t("circuits.goals")}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t("circuits.goal")}</th>
                <th scope="col">{t("circuits.reached")}</th>
                <th scope="col">{t("circuits.margin")}</th>
                <th scope="col">{t("circuits.course")}</th>
              </tr>
            </thead>
            <tbody>
              {goals.map((goal, at) => (
                <GoalRow key={at} goal={goal} all={all} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function GoalRow({ goal, all }: { goal: Goal; all: readonly Iteration[] }) {
  const { t } = useTranslation(manage);
  const { metric, way, state, value, gap, figure_unit: unit } = goal;
  const Mark = marks[state];
  const margin = gap === null || way !== "at_most" ? gap : -gap;
  const course = all.toReversed().flatMap(({ goals }) => goals.find((one) => one.metric === metric)?.value ?? []);
  return (
    <tr data-state={state}>
      <th scope="row">
        <span className="figure-name">
          <Mark size={15} aria-label={t(`circuits.goalState.${state}`)} role="img" />
          <span>
            {visible(metric.replaceAll("_", " "))}
            <small>{t(`circuits.way.${way}`, { target: visible(targetOf(goal)) })}</small>
          </span>
        </span>
      </th>
      <td>{value === null ? "–" : quantity(value, unit)}</td>
      <td>{margin === null ? "–" : `${margin > 0 ? "+" : ""}${quantity(margin, unit)}`}</td>
      <td>
        <Course label={t("circuits.courseOf", { metric: visible(metric) })} values={course} />
      </td>
    </tr>
  );
}

const [width, height] = [56, 18];

/** How a figure has changed, as a small line. */
function Course({ label, values }: { label: string; values: readonly number[] }) {
  if (values.length < 2) return "–";
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const place = (value: number, at: number): string => {
    const x = 2 + (at / (values.length - 1)) * (width - 4);
    const y = high === low ? height / 2 : 2 + (1 - (value - low) / (high - low)) * (height - 4);
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  };
  return (
    <svg role="img" aria-label={label} width={width} height={height} className="course">
      <path d={`M${values.map(place).join("L")}`} />
    </svg>
  );
}
