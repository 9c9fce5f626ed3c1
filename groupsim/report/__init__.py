"""Reports of recorded runs: one offline page, or charts as PNG and SVG. No Spark is needed.

`story.read_story` reads a run directory; `page.page` makes the page of one or several,
`pictures.picture` one chart of them side by side, `pictures.charts_of` the charts of one of them.
What draws comes with `pip install 'groupsim[report]'`; what only folds rows (ownership.py,
lag_curves.py, members.py, bands.py) does without, so nothing is imported here.
"""
