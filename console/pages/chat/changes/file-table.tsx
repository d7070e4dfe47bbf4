import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { visible } from "../../../markdown/links.ts";
import { Button } from "../../../parts/button.tsx";
import { rowsOf, separatorOf } from "../../../run/separated.ts";

/** Rows that are drawn at first, and with each request for more. */
const pageSize = 200;
/** Columns, and characters of a field, that are drawn. */
const maxColumns = 50;
const maxLetters = 300;

/** A file of separated values as a table; its first row names the columns. */
export function FileTable({ path, text }: { path: string; text: string }) {
  const { t } = useTranslation();
  const [maxRows, setMaxRows] = useState(pageSize);
  const { rows, isWhole } = useMemo(() => rowsOf(text, separatorOf(path) ?? ",", maxRows + 1), [text, path, maxRows]);
  const [names = [], ...values] = rows;
  const width = Math.min(maxColumns, Math.max(0, ...rows.map(({ length }) => length)));
  const columns = Array.from({ length: width }, (_, column) => column);
  return (
    <>
      <div className="md-table" role="region" aria-label={visible(path)} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {shown(names[column])}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {values.map((row, index) => (
              <tr key={index}>
                {columns.map((column) => (
                  <td key={column}>{shown(row[column])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {!isWhole && (
        <div>
          <Button size="small" onClick={() => setMaxRows(maxRows + pageSize)}>
            {t("operation.moreRows", { count: maxRows })}
          </Button>
        </div>
      )}
    </>
  );
}

function shown(field = ""): string {
  return visible(field.length > maxLetters ? `${field.slice(0, maxLetters)}…` : field);
}
