"use strict";
// Draws every panel with its data, in the colours of the page, and again when these or the page's width class change.
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const panels = Array.from(document.querySelectorAll(".panel"));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 30rem)");

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function axis(own) {
    const common = {
      gridcolor: colour("--rule"), zerolinecolor: colour("--rule"), linecolor: colour("--soft"),
      tickfont: { size: 11 }, automargin: true, showline: true, ticks: "outside", tickcolor: colour("--soft"), ticklen: 4,
    };
    const merged = Object.assign(common, own);
    if (merged.title) merged.title = Object.assign({ font: { size: narrow.matches ? 10 : 12 }, standoff: 8 }, merged.title);
    return merged;
  }

  function layout(own) {
    return Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--ink") },
      margin: { l: 56, r: 34, t: 12, b: 44 }, hovermode: "closest",
      hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--soft"), font: { color: colour("--ink") } },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "normal", font: { size: 11 }, maxheight: 1000 }, showlegend: true,
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--rule"), activecolor: colour("--soft"), orientation: "v",
        remove: ["select2d", "lasso2d", "sendDataToCloud"] },
    }, own, { xaxis: inLines(axis(own.xaxis || {})), yaxis: axis(own.yaxis || {}) });
  }

  // Beside long names a narrow plot has no room for the title in one line.
  function inLines(own) {
    if (narrow.matches && own.title && own.title.text) own.title.text = own.title.text.replace(/ \(/, "<br>(");
    return own;
  }

  function draw() {
    document.documentElement.dataset.drawn = "0";
    let next = Promise.resolve();
    panels.forEach(function (panel, place) {
      next = next.then(function () {
        const figure = figures[place];
        return Plotly.react(panel, figure.data, layout(figure.layout), { responsive: true, displaylogo: false, displayModeBar: narrow.matches ? false : "hover" });
      }).then(function () {
        document.documentElement.dataset.drawn = String(place + 1);
      });
    });
  }

  for (const query of [dark, narrow]) query.addEventListener("change", draw);
  draw();
})();
