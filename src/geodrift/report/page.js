"use strict";
(async () => {
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = JSON.parse(await new Response(unpacked).text());
  // Documents are packed: see `_packed` of `_page.py`.
  const packed = data.tables.documents;
  if (packed) {
    packed.rows = packed.rows.map(([number, title, told, ...weights]) => [
      number, title || `document ${number}`, ["certain", "a tie", "no interval"][told],
      ...weights.map((value, at) => (at % 4 === 0 ? value : value < 0 ? null : value / 1000)),
    ]);
  }
  const fields = data.tables.document_fields;
  if (fields) fields.rows = packed.rows.map(([number], at) => [number, ...fields.of_columns.map((column) => column[at])]);
  const name = data.component;
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  // What could steer the order of letters, or is no letter, is written out.
  const unsafe = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu;
  const stacked = /(\p{M}{3})\p{M}+/gu;  // marks above and below one letter would cover the lines beside it
  const visible = (text) => String(text).replace(stacked, "$1").replace(unsafe, (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));
  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const percent = (share) => (100 * share).toFixed(1) + "%";

  // Files.
  const save = (content, type, file) => {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = file.replace(/[^\w.-]+/g, "-");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  // A text that a spreadsheet would take for a formula begins with an apostrophe.
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value !== "string") return String(value);
    const text = /^\s*[=+\-@\t\r|%]/.test(value) ? "'" + value : value;
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const csv = (table) => [table.columns, ...table.rows]
    .map((row) => table.columns.map((_, i) => cell(row[i])).join(",")).join("\r\n") + "\r\n";
  for (const button of all("[data-csv]")) {
    const table = data.tables[button.dataset.csv];
    if (!table) button.hidden = true;
    button.addEventListener("click", () => save("\ufeff" + csv(table), "text/csv", button.dataset.csv + ".csv"));
  }
  for (const button of all("[data-svg]")) {
    button.addEventListener("click", () => {
      const figure = button.parentElement.querySelector("svg").cloneNode(true);
      const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
      style.textContent = document.getElementById("figures").textContent;
      figure.prepend(style);
      for (const link of all("a", figure)) link.removeAttribute("href");
      const [, , width, height] = figure.getAttribute("viewBox").split(" ");
      figure.setAttribute("width", width);
      figure.setAttribute("height", height);
      save(new XMLSerializer().serializeToString(figure), "image/svg+xml", figure.dataset.name + ".svg");
    });
  }

  // Tables that sort.
  for (const table of all("table")) {
    all("th button", table).forEach((button) => button.addEventListener("click", () => {
      const head = button.parentElement, column = head.cellIndex, body = table.tBodies[0];
      const key = (row) => row.cells[column].dataset.key ?? row.cells[column].textContent;
      const before = head.getAttribute("aria-sort"), numbers = head.classList.contains("num");
      const down = before ? before === "ascending" : numbers;
      all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const rows = [...body.rows].sort((a, b) => {
        const one = key(a), other = key(b), gap = Number(one) - Number(other);
        return sign * (Number.isNaN(gap) ? one.localeCompare(other) : gap);
      });
      body.append(...rows);
    }));
  }

  // A box that filters the rows of a table.
  for (const box of all("[data-filter]")) {
    const rows = [...document.getElementById(box.dataset.filter).tBodies[0].rows];
    const count = document.querySelector(`[data-count="${box.dataset.filter}"]`);
    box.addEventListener("input", () => {
      const wanted = box.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      const left = rows.filter((row) => !row.hidden).length;
      count.textContent = wanted ? `${left} of ${rows.length}` : "";
    });
  }

  // The map: a component, and its neighbours in words.
  const told = document.getElementById("map-told");
  const near = new Map();
  for (const [one, other, degrees, low, high, alike] of data.tables.angles?.rows ?? []) {
    if (!near.has(one)) near.set(one, []);
    near.get(one).push([other, degrees, low, high, alike]);
  }
  const circles = all(".map a");
  const title = (place) => circles.find((a) => Number(a.dataset.place) === place).querySelector("title").textContent;
  for (const circle of circles) {
    const show = () => {
      const place = Number(circle.dataset.place), close = near.get(place) ?? [];
      const lines = close.map(([other, degrees, low, high, alike]) => {
        const ends = low === null || low === undefined ? "" : ` [${low.toFixed(0)}, ${high.toFixed(0)}]`;
        return `${degrees.toFixed(0)}°${ends}  ${title(other).split(",").slice(0, 3).join(",")}${alike ? "; may be the same" : ""}`;
      });
      told.replaceChildren(element("b", title(place)), "\n\nNearest:\n" + lines.join("\n"));
      const lit = new Set(close.map(([other]) => other));
      for (const a of circles) a.classList.toggle("lit", lit.has(Number(a.dataset.place)));
    };
    circle.addEventListener("mouseenter", show);
    circle.addEventListener("focus", show);
  }

  // Documents.
  const documents = data.tables.documents, body = document.querySelector("#table-documents tbody");
  if (documents && body) {
    const size = 25, rows = documents.rows, parts = document.getElementById("document-part");
    const search = document.getElementById("document-search"), how = document.getElementById("document-told");
    const labels = new Map([...parts.options].map((option) => [option.value, option.textContent]));
    // What else is told of a document: its id and its fields, by its number.
    const beside = new Map((fields?.rows ?? []).map((row) => {
      const told = row.slice(2).map((value, at) => value === null || value === "" ? null : `${fields.columns[at + 2]} ${value}`);
      return [row[0], [row[1], ...told].filter((text) => text !== null && text !== undefined && text !== "")];
    }));
    const whole = (row) => [row[1], ...(beside.get(row[0]) ?? [])].join(" ").toLowerCase();
    let page = 0, found = rows;
    const shares = (row) => {
      const told = [];
      for (let i = 3; i < row.length; i += 4) {
        if (row[i] !== null) told.push([row[i], row[i + 1], row[i + 2] ?? null, row[i + 3] ?? null]);
      }
      return told;
    };
    const line = (row) => {
      const made = element("tr"), first = element("td"), last = element("td", undefined, "shares");
      first.append(element("bdi", visible(row[1])));
      const more = (beside.get(row[0]) ?? []).filter((text) => text !== row[1]);
      if (more.length) first.append(element("bdi", visible(more.join(" · ")), "beside"));
      made.append(first, element("td", row[2], row[2] === "certain" ? "" : "tie"), last);
      for (const [place, mean, low, high] of shares(row)) {
        const share = element("span"), link = element("a", labels.get(String(place)) ?? data.others[place] ?? `other ${name}s`);
        if (labels.has(String(place))) link.href = `#${name}-${place}`;
        share.append(link, ` ${percent(mean)}` + (low === null ? "" : ` [${percent(low)}, ${percent(high)}]`));
        last.append(share, " ");
      }
      return made;
    };
    const show = () => {
      const pages = Math.max(1, Math.ceil(found.length / size));
      page = Math.min(Math.max(page, 0), pages - 1);
      body.replaceChildren(...found.slice(page * size, (page + 1) * size).map(line));
      document.getElementById("page-told").textContent = `Page ${page + 1} of ${pages}`;
      document.getElementById("document-count").textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
      for (const button of all("[data-page]")) {
        button.disabled = Number(button.dataset.page) < 0 ? page === 0 : page === pages - 1;
      }
    };
    const choose = () => {
      const text = search.value.trim().toLowerCase(), part = parts.value === "" ? null : Number(parts.value);
      found = rows.filter((row) => (!how.value || row[2] === how.value)
        && (part === null || shares(row).some((share) => share[0] === part))
        && (!text || whole(row).includes(text)));
      if (part !== null) {
        const weight = (row) => shares(row).find((share) => share[0] === part)[1];
        found.sort((a, b) => weight(b) - weight(a));
      }
      page = 0;
      show();
    };
    for (const input of [search, parts, how]) input.addEventListener("input", choose);
    for (const button of all("[data-page]")) {
      button.addEventListener("click", () => { page += Number(button.dataset.page); show(); });
    }
    show();
  }
})();
