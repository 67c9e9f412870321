Creator "by hand"
graph [
  directed 0
  label "five cities"
  node [ id 0 label "Zurich" Country "Switzerland" Longitude 8.55 Latitude 47.37 ]
  node [ id 1 label "Paris" Country "France" Longitude 2.35 Latitude 48.86 ]
  node [ id 2 label "London" Country "United Kingdom" Longitude -0.12 Latitude 51.51 ]
  node [ id 3 label "Frankfurt" Country "Germany" Longitude 8.68 Latitude 50.11 ]
  node [ id 4 label "Milan" Country "Italy" Longitude 9.19 Latitude 45.46 ]
  edge [ source 0 target 1 LinkLabel "100 Gbps" LinkSpeed "100" LinkSpeedUnits "G" LinkSpeedRaw 100000000000.0 ]
  edge [ source 1 target 2 LinkLabel "100 Gbps" LinkSpeed "100" LinkSpeedUnits "G" LinkSpeedRaw 100000000000.0 ]
  edge [ source 2 target 3 LinkLabel "lit fibre" ]
  edge [ source 3 target 0 LinkLabel "100 Gbps" LinkSpeed "100" LinkSpeedUnits "G" LinkSpeedRaw 100000000000.0 ]
  edge [ source 0 target 4 ]
]
